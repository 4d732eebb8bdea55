# 40: the model sets the list of tasks; the user and the model have the same one
prompt call todo_write {"todos":[{"content":"look","status":"completed"},{"content":"write","status":"pending"}]} then say planned
allow
todos test it
prompt call todo_write {} then say "as you say"
allow
| opened mock/alpha prompt
| turn
| user Prompt "call todo_write {\"todos\":[{\"content\":\"look\",\"status\":\"completed\"},{\"content\":\"write\",\"status\":\"pending\"}]} then say planned"
| assistant todo_write{"todos":[{"content":"look","status":"completed"},{"content":"write","status":"pending"}]} ToolUse
| call todo
| ask todo needs workspace-write
| answer allow Once
| result todo Ran "[x] look\n[ ] write\n1 of 2 items open\n"
| todos 2 open 1
| assistant "planned" Stop
| end EndTurn rounds 1 tokens 220/27
| todos 1 open 1
| turn
| user Prompt "call todo_write {} then say \"as you say\""
| assistant todo_write{} ToolUse
| call todo
| ask todo needs workspace-write
| answer allow Once
| result todo Ran "[ ] test it\n1 of 1 item open\n"
| assistant "as you say" Stop
| end EndTurn rounds 1 tokens 288/6
~ mock/alpha U "call todo_write {\"todos\":[{\"content\":\"look\",\"status\":\"completed\"},{\"content\":\"write\",\"status\":\"pending\"}]} then say planned"
~ mock/alpha UAR "[x] look\n[ ] write\n1 of 2 items open\n"
~ mock/alpha UARAU "call todo_write {} then say \"as you say\""
~ mock/alpha UARAUAR "[ ] test it\n1 of 1 item open\n"
