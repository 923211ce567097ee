// Command words counts phrases of a private dialect in comments, texts and pages, and fails if one
// is not on the list of those that may stay. make lint runs it.
//
//	go run ./internal/testing/words          # what is found, by file and line
//	go run ./internal/testing/words -count   # how often each phrase is found
//
// The phrases are in phrases.go, those that may stay in allowed.txt: at most 20, each with
// its reason.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// maxAllowed is how many places may be on the list.
const maxAllowed = 20

const allowedFile = "internal/testing/words/allowed.txt"

// place is where a phrase stands.
type place struct {
	file   string
	line   int
	phrase string // as it stands there
	text   string // of the line
}

func main() {
	count := flag.Bool("count", false, "count the phrases instead of listing them")
	root := flag.String("root", ".", "the repository's `FOLDER`")
	flag.Parse()
	found, err := search(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	if *count {
		printCounts(found)
		return
	}
	allowed, err := readAllowed(filepath.Join(*root, allowedFile))
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	bad := 0
	for _, p := range found {
		if key := keyOf(p.file, p.phrase); allowed[key] > 0 {
			allowed[key]--
			continue
		}
		fmt.Printf("%s:%d: %q in: %s\n", p.file, p.line, p.phrase, strings.TrimSpace(p.text))
		bad++
	}
	for key, n := range allowed {
		if n > 0 {
			fmt.Printf("%s: %s is not there any more: remove it\n", allowedFile, key)
			bad++
		}
	}
	if bad > 0 {
		fmt.Printf("%d phrases of our own dialect: say it in plain words (see internal/testing/words/phrases.go), or list it with its reason\n", bad)
		os.Exit(1)
	}
}

// search returns the places in the comments and texts of Go files and in the pages below root,
// sorted by file and line. Generated files (.pb.go), this command, and folders of test data,
// of built or foreign code, or with a leading dot are left out. With an error it returns those
// found before.
func search(root string) (found []place, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case path == root:
			case strings.HasPrefix(name, "."), name == "testdata", name == "node_modules", name == "dist":
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(name, ".pb.go"), filepath.ToSlash(filepath.Dir(name)) == "internal/testing/words":
			return nil
		case filepath.Ext(name) == ".go":
			return searchGo(path, filepath.ToSlash(name), &found)
		case filepath.Ext(name) == ".md":
			return searchPage(path, filepath.ToSlash(name), &found)
		}
		return nil
	})
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].file != found[j].file {
			return found[i].file < found[j].file
		}
		return found[i].line < found[j].line
	})
	return found, err
}

// searchGo adds the places in the comments of a Go file and, if it is no test, in its texts:
// string literals with a space. In a comment a phrase may run over a line's end. Syntax errors
// are ignored.
func searchGo(path, name string, found *[]place) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file := set.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	var lines []string // of one comment
	first, last := 0, 0
	flush := func() {
		match(name, first, lines, found)
		lines = nil
	}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.STRING && strings.Contains(text, " ") && !strings.HasSuffix(name, "_test.go") {
			match(name, set.Position(pos).Line, strings.Split(text, "\n"), found)
		}
		if tok != token.COMMENT || strings.HasPrefix(text, "//go:") {
			continue
		}
		line := set.Position(pos).Line
		if len(lines) > 0 && line != last+1 {
			flush()
		}
		if len(lines) == 0 {
			first = line
		}
		for _, l := range strings.Split(text, "\n") {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(l), "//"))
		}
		last = first + len(lines) - 1
	}
	flush()
	return nil
}

// searchPage adds the places in the text of a Markdown page, without its blocks of code and
// what is in backquotes. A line longer than 1 MiB is an error.
func searchPage(path, name string, found *[]place) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	code := false
	var lines []string
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code, line = !code, ""
		}
		if code {
			line = ""
		}
		lines = append(lines, inlineCode.ReplaceAllString(line, "`code`"))
	}
	match(name, 1, lines, found)
	return in.Err()
}

var inlineCode = regexp.MustCompile("`[^`]*`")

// match adds the places in lines, which are joined so that a phrase may run over a line's end.
// The first line has the number first. What begins as plain matches is left out.
func match(name string, first int, lines []string, found *[]place) {
	text := strings.Join(lines, "\n")
	for _, at := range phrases.FindAllStringIndex(text, -1) {
		if ordinary := plain.FindStringIndex(text[at[0]:min(len(text), at[0]+20)]); ordinary != nil && ordinary[0] == 0 {
			continue
		}
		n := strings.Count(text[:at[0]], "\n")
		phrase := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
		*found = append(*found, place{name, first + n, phrase, lines[n]})
	}
}

// keyOf returns the key of readAllowed for a phrase in a file. Its case does not matter, that
// of the file's name does.
func keyOf(file, phrase string) string { return file + ": " + strings.ToLower(phrase) }

// readAllowed returns how often each phrase may stand in a file, by keyOf. A line of the file
// is "FILE: PHRASE -- REASON", empty, or a comment after #; it is an error if a reason is
// missing or more than maxAllowed places are listed.
func readAllowed(path string) (map[string]int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	allowed, all := map[string]int{}, 0
	for n, line := range strings.Split(string(b), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		place, reason, _ := strings.Cut(line, " -- ")
		file, phrase, _ := strings.Cut(place, ": ")
		if phrase == "" || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: want FILE: PHRASE -- REASON", path, n+1)
		}
		allowed[keyOf(file, phrase)]++
		all++
	}
	if all > maxAllowed {
		return nil, fmt.Errorf("%s lists %d places, %d are the most", path, all, maxAllowed)
	}
	return allowed, nil
}

// printCounts prints how often each phrase was found, the most frequent first, and the sum.
func printCounts(found []place) {
	counts := map[string]int{}
	for _, p := range found {
		counts[strings.ToLower(p.phrase)]++
	}
	var words []string
	for w := range counts {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool { return counts[words[i]] > counts[words[j]] })
	for _, w := range words {
		fmt.Printf("%6d  %s\n", counts[w], w)
	}
	fmt.Printf("%6d  in all\n", len(found))
}
