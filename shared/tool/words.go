package tool

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"bashplugin/shared"
)

// apiName matches a name of the contract that errors mention.
var apiName = regexp.MustCompile(`\b(?:ExecuteRequest\.\w+|CloseInput)\b`)

// ownWords replaces the contract's names in the text about an error by those of the arguments that
// the model gave, or that another tool of the set has.
func (called tool) ownWords(text string, err error, all []tool) string {
	argument := func(name string) string {
		field := strings.TrimPrefix(name, "ExecuteRequest.")
		own := called.arguments[field]
		for _, tool := range all {
			own = cmp.Or(own, tool.arguments[field])
		}
		return cmp.Or(own, name)
	}
	known, ok := errors.AsType[*shared.Error](err)
	if !ok {
		return text
	}
	if known.Field != "" {
		inOwn := argument(known.Field) + strings.TrimPrefix(known.Message, known.Field)
		text = strings.Replace(text, known.Message, inOwn, 1)
	}
	return apiName.ReplaceAllStringFunc(text, argument)
}
