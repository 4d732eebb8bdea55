# 38: NUL, control bytes, U+2028, four-byte characters and lone surrogates survive the log and the next request
file strange.txt bell  escape [1m separator   face 😀\n
prompt call read_file {"path":"strange.txt"} and call write_file {"path":"lone.txt","content":"\ud800 alone \u0000 nul"} then say "😀 "
allow
allow
prompt call read_file {"path":"lone.txt"} then say read
allow
| opened mock/alpha prompt
| turn
| user Prompt "call read_file {\"path\":\"strange.txt\"} and call write_file {\"path\":\"lone.txt\",\"content\":\"\\ud800 alone \\u0000 nul\"} then say \"😀\u{2028}\""
| assistant read_file{"path":"strange.txt"} write_file{"path":"lone.txt","content":"\ufffd alone \u0000 nul"} ToolUse
| call read_file
| ask read_file needs read-only
| answer allow Once
| result read_file Ran "bell \u{7} escape \u{1b}[1m separator \u{2028} face 😀\n"
| call write_file
| ask write_file needs workspace-write
| answer allow Once
| result write_file Ran "created lone.txt (1 line)" changed lone.txt
| assistant "😀\u{2028}" Stop
| end EndTurn rounds 1 tokens 227/25 write_file:lone.txt
| turn
| user Prompt "call read_file {\"path\":\"lone.txt\"} then say read"
| assistant read_file{"path":"lone.txt"} ToolUse
| call read_file
| ask read_file needs read-only
| answer allow Once
| result read_file Ran error "lone.txt: not text but binary data (15 bytes); read_file cannot show it"
| assistant "read" Stop
| end EndTurn rounds 1 tokens 317/8
~ mock/alpha U "call read_file {\"path\":\"strange.txt\"} and call write_file {\"path\":\"lone.txt\",\"content\":\"\\ud800 alone \\u0000 nul\"} then say \"😀\u{2028}\""
~ mock/alpha UARR "created lone.txt (1 line)"
~ mock/alpha UARRAU "call read_file {\"path\":\"lone.txt\"} then say read"
~ mock/alpha UARRAUAR "lone.txt: not text but binary data (15 bytes); read_file cannot show it"
