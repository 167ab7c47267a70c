// Renders the templates of a chart the way Helm does, for checks on machines without it: the same template language, and
// those of Helm's functions that the chart uses. chart FOLDER VALUES.json -> the rendered documents
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var given map[string]interface{}
	text, err := os.ReadFile(os.Args[2])
	check(err)
	check(json.Unmarshal(text, &given))
	functions := template.FuncMap{
		"quote":   func(value interface{}) string { return strconv.Quote(fmt.Sprint(value)) },
		"default": func(fallback, value interface{}) interface{} {
			if value == nil || value == "" {
				return fallback
			}
			return value
		},
		"toJson": func(value interface{}) (string, error) { text, err := json.Marshal(value); return string(text), err },
		"int":    func(value interface{}) int { number, _ := strconv.Atoi(fmt.Sprint(value)); return number },
		"fail":   func(why string) (string, error) { return "", fmt.Errorf("%s", why) },
	}
	files, err := filepath.Glob(filepath.Join(os.Args[1], "templates", "*.yaml"))
	check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		parsed, err := template.New(filepath.Base(file)).Option("missingkey=error").Funcs(functions).Parse(string(text))
		check(err)
		fmt.Println("---")
		check(parsed.Execute(os.Stdout, given))
	}
}
