// Package servers starts what tests of clients need: real servers in processes of
// their own, servers that break in every way a network can, certificates, and a
// check that nothing is left behind. Only tests import it.
//
// All of it ends with the test that started it. What is missing on this machine
// fails the test and names the command that installs it.
package servers
