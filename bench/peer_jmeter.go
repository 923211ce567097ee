package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// jmeter is installed from Maven Central as the jars of its modules, in the directories of
// its own archive; load/jmeter.jmx is its plan.
var jmeter = &peer{name: "jmeter", install: installJMeter, read: func(u usage, _ string) (outcome, error) { return parseJMeter(string(u.stdout)) }}

const jmeterVersion = "5.6.3"

const jmeterPOM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId><artifactId>jmeter</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter</artifactId><version>VERSION</version></dependency>
    <dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_http</artifactId><version>VERSION</version></dependency>
    <dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_functions</artifactId><version>VERSION</version></dependency>
    <dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_config</artifactId><version>VERSION</version></dependency>
  </dependencies>
</project>
`

// installJMeter installs JMeter from Maven Central into the cache, unless this version is
// there already. It works in a directory .part, which it renames when it is complete and a
// failed attempt leaves for the next one. The first step that fails, as when ctx ends, ends it
// with its error.
func installJMeter(ctx context.Context, b *bench) (installed, error) {
	dir := filepath.Join(b.cache, "jmeter@"+jmeterVersion)
	in := installed{
		version: "JMeter " + jmeterVersion,
		command: []string{"java", "-Xmx1g", "-jar", filepath.Join(dir, "bin", "ApacheJMeter.jar")},
	}
	if _, err := os.Stat(in.command[3]); err == nil {
		return in, nil
	}
	if err := b.debian(ctx, "java:default-jre-headless", "mvn:maven", "unzip:unzip"); err != nil {
		return in, err
	}
	part := dir + ".part"
	lib := filepath.Join(part, "lib")
	for _, d := range []string{filepath.Join(lib, "ext"), filepath.Join(lib, "junit"), filepath.Join(part, "bin")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return in, err
		}
	}
	pom := filepath.Join(part, "pom.xml")
	if err := os.WriteFile(pom, []byte(strings.ReplaceAll(jmeterPOM, "VERSION", jmeterVersion)), 0o644); err != nil {
		return in, err
	}
	b.logf("mvn: jmeter %s", jmeterVersion)
	if err := b.watched(ctx, 10*time.Minute, "mvn", "-B", "-q", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+lib); err != nil {
		return in, err
	}
	if _, err := output(ctx, part, nil, "unzip", "-qo", filepath.Join(lib, "ApacheJMeter_config-"+jmeterVersion+".jar"), "bin/*"); err != nil {
		return in, err
	}
	// The directories in which JMeter searches its own jars and those of its elements.
	for from, to := range map[string]string{
		"ApacheJMeter":            "bin/ApacheJMeter.jar",
		"ApacheJMeter_core":       "lib/ext/ApacheJMeter_core.jar",
		"ApacheJMeter_components": "lib/ext/ApacheJMeter_components.jar",
		"ApacheJMeter_http":       "lib/ext/ApacheJMeter_http.jar",
		"ApacheJMeter_functions":  "lib/ext/ApacheJMeter_functions.jar",
	} {
		if err := os.Rename(filepath.Join(lib, from+"-"+jmeterVersion+".jar"), filepath.Join(part, to)); err != nil {
			return in, err
		}
	}
	return in, os.Rename(part, dir)
}

var jmeterSummary = regexp.MustCompile(`(?m)^summary = +(\d+) in +\S+ = +([\d.]+)/s .* Max: +(\d+) Err: +(\d+) `)

// parseJMeter reads the last line of totals that JMeter prints, in whole milliseconds and
// without percentiles. It returns an error if there is no such line.
func parseJMeter(out string) (outcome, error) {
	all := jmeterSummary.FindAllStringSubmatch(out, -1)
	if all == nil {
		return outcome{}, errors.New("jmeter: no summary in its output")
	}
	m := all[len(all)-1]
	return outcome{atof(m[1]), atof(m[2]), atof(m[4]), untold, latency{untold, untold, atof(m[3])}}, nil
}
