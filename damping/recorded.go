package damping

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed testdata/series/*.csv
var recordedFiles embed.FS

const recordingsFolder = "testdata/series"

// Recordings are the names of the series that come with the package, sorted.
// Each describes real behaviour as published; the first lines of its file say
// which, and what of it is made up.
func Recordings() []string {
	files, _ := recordedFiles.ReadDir(recordingsFolder)
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".csv"))
	}
	slices.Sort(names)
	return names
}

// Recording returns a series by its name. An unknown name is an error that lists
// the known ones.
func Recording(name string) ([]Sample, error) {
	file, err := recordedFiles.Open(recordingsFolder + "/" + name + ".csv")
	if err != nil {
		return nil, fmt.Errorf("series %q: want one of %s", name, strings.Join(Recordings(), ", "))
	}
	defer func() { _ = file.Close() }()
	return ReadSeries(file)
}

// MostMembers is the highest number of members in a series.
func MostMembers(series []Sample) int {
	most := 0
	for _, s := range series {
		most = max(most, s.Members)
	}
	return most
}
