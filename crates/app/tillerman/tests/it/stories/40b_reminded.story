# 40: a turn that ends with open tasks is taken up again, so often and no more; a prompt counts anew
reminders 2
todos write it, test it
model say "Done for now."
model say "Still at it."
model call todo_write {"phases":[{"name":"All","tasks":[{"content":"write it","status":"completed"},{"content":"test it","status":"pending"}]}]}
model say "Enough for today."
model call todo_write {"todos":[{"content":"test it","status":"abandoned"}]}
model say "Dropped it."
prompt hello
allow
prompt drop the rest
allow
| opened mock/alpha prompt
| todos 2 open 2
| turn
| user Prompt "hello"
| assistant "Done for now." Stop
| end EndTurn rounds 0 tokens 63/4
| turn
| user Reminder "These tasks of the todo list are still open:\n- write it (pending)\n- test it (pending)\nGo on with them, or mark those that will not be done as abandoned. (reminder 1 of 2)"
| assistant "Still at it." Stop
| end EndTurn rounds 0 tokens 109/3
| turn
| user Reminder "These tasks of the todo list are still open:\n- write it (pending)\n- test it (pending)\nGo on with them, or mark those that will not be done as abandoned. (reminder 2 of 2)"
| assistant todo_write{"phases":[{"name":"All","tasks":[{"content":"write it","status":"completed"},{"content":"test it","status":"pending"}]}]} ToolUse
| call todo
| ask todo needs workspace-write
| answer allow Once
| result todo Ran "[x] write it\n[ ] test it\n1 of 2 items open\n"
| todos 2 open 1
| assistant "Enough for today." Stop
| end EndTurn rounds 1 tokens 352/38
| turn
| user Prompt "drop the rest"
| assistant todo_write{"todos":[{"content":"test it","status":"abandoned"}]} ToolUse
| call todo
| ask todo needs workspace-write
| answer allow Once
| result todo Ran "[-] test it\n0 of 1 item open\n"
| todos 1 open 0
| assistant "Dropped it." Stop
| end EndTurn rounds 1 tokens 435/19
~ mock/alpha U "hello"
~ mock/alpha UAU "These tasks of the todo list are still open:\n- write it (pending)\n- test it (pending)\nGo on with them, or mark those that will not be done as abandoned. (reminder 1 of 2)"
~ mock/alpha UAUAU "These tasks of the todo list are still open:\n- write it (pending)\n- test it (pending)\nGo on with them, or mark those that will not be done as abandoned. (reminder 2 of 2)"
~ mock/alpha UAUAUAR "[x] write it\n[ ] test it\n1 of 2 items open\n"
~ mock/alpha UAUAUARAU "drop the rest"
~ mock/alpha UAUAUARAUAR "[-] test it\n0 of 1 item open\n"
