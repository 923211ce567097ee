// Package version has gobench's version number.
package version

// Version of gobench and of the packages that scenarios import. It follows
// semver.org; between releases it ends in "-dev".
const Version = "0.1.0-dev"
