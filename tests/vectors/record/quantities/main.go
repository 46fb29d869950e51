// What apimachinery reads in texts of quantities: a line of JSON each, {"in": text}.
//
// The answer has "error", or "out" (the canonical text), "format" and "dec" (the exact value, in decimal digits).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

type question struct {
	In string
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		encoded, _ := json.Marshal(map[string]any{"answer": read(asked.In)})
		fmt.Println(string(encoded))
	}
}

func read(text string) map[string]string {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return map[string]string{"error": err.Error()}
	}
	found := map[string]string{"out": quantity.String(), "format": string(quantity.Format)}
	found["dec"] = quantity.AsDec().String()
	return found
}
