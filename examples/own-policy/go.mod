module example.com/own-policy

go 1.26.0

require github.com/bagrig/bagrig v0.0.0
