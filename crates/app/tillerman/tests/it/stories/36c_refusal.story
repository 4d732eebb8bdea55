# 36: the provider refuses
prompt refuse
prompt say "still here"
| opened mock/alpha prompt
| turn
| user Prompt "refuse"
| assistant  Refusal
| end Refusal rounds 0 tokens 63/1
| turn
| user Prompt "say \"still here\""
| assistant "still here" Stop
| end EndTurn rounds 0 tokens 67/3
~ mock/alpha U "refuse"
~ mock/alpha UAU "say \"still here\""
