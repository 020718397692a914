module peer

go 1.24

require github.com/yuin/gopher-lua v0.0.0-20220504180219-658193537a64
