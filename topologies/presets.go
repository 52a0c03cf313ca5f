package topologies

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// Presets gives the names of the embedded topologies, sorted.
func Presets() []string {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		return nil // cannot be: the folder is part of the program
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// Preset gives an embedded topology; the error for an unknown name lists them.
func Preset(name string) (*Topology, error) {
	if !slices.Contains(Presets(), name) {
		return nil, fmt.Errorf("preset %q: %s", name, wantPreset())
	}
	file := path.Join("presets", name+".yaml")
	data, err := presetFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Read(file, data)
}

func wantPreset() string { return "want one of the presets " + strings.Join(Presets(), ", ") }
