// Package build compiles a user's scenario to an executor: a program that consists of the
// scenario, the gobench packages that it imports and one generated call.
//
// A [Builder] copies the user's files that it reads (the scenario, packages of the same module,
// embedded files, go.mod, go.sum) into a directory of its own, mends imports there, adds the
// main function and the SDK's requirements, and runs go build on the copy. It only reads the
// user's directory. The SDK and the sources of its dependencies are embedded in gobench, so a
// scenario that imports nothing else is built without a network.
//
// Executors are stored by the hash of all inputs of go build: a scenario that was built before
// costs milliseconds and runs no command.
//
// A scenario may come from someone who is not trusted, so the inputs of the go command are
// restricted: go.mod is parsed and checked before any go command reads it, and the go command
// gets a clean environment, no shell, no C compiler, no proxy unless there is a [Person], and
// limits on time, memory and output.
package build
