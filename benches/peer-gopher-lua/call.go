// Package peer runs a traffic script the way OpenKruise's controller does, to be measured beside `benches/lua.rs`.
//
// A call has a state of its own with the libraries that the controller opens, reads the object from JSON, runs the source
// text, and writes what came back as JSON. Values cross by one walk each way; nothing is done that the controller would not.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

var libraries = []struct {
	name string
	open lua.LGFunction
}{
	{lua.MathLibName, lua.OpenMath},
	{lua.BaseLibName, lua.OpenBase},
	{lua.TabLibName, lua.OpenTable},
	{lua.StringLibName, lua.OpenString},
}

// Call runs the script over an object given as JSON, and returns what came back as JSON.
func Call(script string, object []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(object, &value); err != nil {
		return nil, err
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range libraries {
		state.Push(state.NewFunction(library.open))
		state.Push(lua.LString(library.name))
		if err := state.PCall(1, 0, nil); err != nil {
			return nil, err
		}
	}
	limit, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(limit)
	state.SetGlobal("obj", enter(state, value))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	answer, err := leave(state.Get(-1))
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

func enter(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		list := state.CreateTable(len(value), 0)
		for _, element := range value {
			list.Append(enter(state, element))
		}
		return list
	case map[string]any:
		fields := state.CreateTable(0, len(value))
		for key, member := range value {
			fields.RawSetString(key, enter(state, member))
		}
		return fields
	default:
		return lua.LNil
	}
}

func leave(value lua.LValue) (any, error) {
	switch value := value.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(value), nil
	case lua.LNumber:
		return float64(value), nil
	case lua.LString:
		return string(value), nil
	case *lua.LTable:
		return leaveTable(value)
	default:
		return nil, fmt.Errorf("a %s cannot be said in JSON", value.Type())
	}
}

func leaveTable(table *lua.LTable) (any, error) {
	if length := table.Len(); length > 0 {
		list := make([]any, 0, length)
		for position := 1; position <= length; position++ {
			element, err := leave(table.RawGetInt(position))
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return list, nil
	}
	fields := map[string]any{}
	var failure error
	table.ForEach(func(key, member lua.LValue) {
		name, isText := key.(lua.LString)
		if !isText {
			failure = errors.New("a key that is no text")
			return
		}
		left, err := leave(member)
		if err != nil {
			failure = err
		}
		fields[string(name)] = left
	})
	if len(fields) == 0 {
		return nil, failure
	}
	return fields, failure
}
