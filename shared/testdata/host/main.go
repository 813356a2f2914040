// Host is the least that a host of another module needs.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"bashplugin/shared"
)

func main() {
	bash, err := shared.Launch(context.Background(), shared.LaunchConfig{Path: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	defer bash.Close()
	result, err := bash.Execute(context.Background(), shared.ExecuteRequest{Command: os.Args[2]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout.Content)
}
