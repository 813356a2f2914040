package main

import "bashplugin/plugin/internal/service"

func main() { service.Main() }
