package yamltree

// Scalar reads a value of any scalar kind as the text that the file holds,
// quotes taken off.
func (n Node) Scalar(def string) string {
	if n.node == nil {
		return def
	}
	text, ok := n.raw()
	if !ok {
		n.Reject("want one value")
		return def
	}
	return text
}
