// Package long lets a test choose its size. make test runs each test in a short form;
// make test-long, which sets the build tag long, at full size.
package long
