package linkbw_test

import (
	"fmt"

	"github.com/bagrig/bagrig/speakers/linkbw"
)

// A bundle of 32 x 800G, told by a device with a four-octet ASN.
func Example() {
	sent := linkbw.Community{
		ASN:   linkbw.GlobalAdministrator(4200000001),
		Value: linkbw.FromBits(32 * 800e9),
	}.Encode()
	fmt.Printf("% x\n", sent)

	received, err := linkbw.Decode(sent[:])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(received.ASN, received.Valid(), linkbw.ToBits(received.Value))
	// Output:
	// 40 04 5b a0 54 3a 43 b7
	// 23456 true 25599999475712
}
