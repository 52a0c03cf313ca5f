package yamltree_test

import (
	"fmt"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

func ExampleParse() {
	doc, err := yamltree.Parse("links.yaml", []byte("name: a--b\nmembers: 0\nspeed: fast\nlenght: 3km\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := doc.Root().Map("name", "members", "speed", "length")
	name := m.Need("name").Text("")
	members := m.Get("members").Int(1, 1, 4096)
	speed := m.Get("speed").Capacity(800e9)
	fmt.Println(name, members, speed)
	fmt.Println(doc.Err())
	// Output:
	// a--b 1 800000000000
	// links.yaml:2:10: field "members": value "0": want 1 to 4096
	// links.yaml:3:8: field "speed": value "fast": want a capacity in bits/s such as 800G or 6.4T, from 1 to 1000P
	// links.yaml:4:1: field "lenght": unknown field: want one of "name", "members", "speed", "length"
}
