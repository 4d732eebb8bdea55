mod leash_entry;
mod shell_background;
mod shell_ending;
mod shell_run;
mod shell_support;
mod web;
