// Package bagrig is the root of the module: a test rig and fuzzer for the
// routing control plane of BAG super-spine networks. It holds no code; start
// with package harness, or with the command in cmd/bagrig.
package bagrig
