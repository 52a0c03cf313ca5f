package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LatestLink is the symbolic link in the parent of run folders that points to
// the one made last.
const LatestLink = "latest"

// nameLength bounds the scenario's part of a folder's name, in bytes.
const nameLength = 64

// sameSecond bounds the runs of one scenario that may start in one second.
const sameSecond = 1000

// CreateIn creates a run folder under the parent, which is made where it does
// not exist, named by the time of the start and the scenario, such as
// 20261130-201500-first-light, or ...-2 where that exists. The link `latest`
// then points to it; something else of that name is left alone.
func CreateIn(parent string, about About) (*Folder, error) {
	base := about.Started.Format("20060102-150405") + "-" + folderName(about.Scenario.Name)
	for n := 1; n <= sameSecond; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		f, err := Create(filepath.Join(parent, name), about)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := linkLatest(parent, name); err != nil {
			return nil, errors.Join(err, f.events.Close(), os.RemoveAll(f.dir))
		}
		return f, nil
	}
	return nil, fmt.Errorf("run folder %q: exists, and so do %d more of that second", filepath.Join(parent, base), sameSecond-1)
}

// folderName keeps what is a plain file name on every system.
func folderName(scenario string) string {
	name := strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, scenario)
	if len(name) > nameLength {
		name = name[:nameLength]
	}
	if name == "" {
		return "run"
	}
	return name
}

// linkLatest replaces the link as a whole, so that it points somewhere at
// every moment, also when two runs start together.
func linkLatest(parent, name string) error {
	link := filepath.Join(parent, LatestLink)
	info, err := os.Lstat(link)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	temp := filepath.Join(parent, "."+LatestLink+"-"+name)
	if err := os.Symlink(name, temp); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if err := os.Rename(temp, link); err != nil {
		return errors.Join(fmt.Errorf("run folder: %w", err), os.Remove(temp))
	}
	return nil
}
