// The first program of a confined command: gives up rights for good, then becomes the command itself.
// argv: its own name, the path of the command, the command's words. What it is to do stands behind the code.
    .globl _start
_start:
    mov x19, sp
    adr x20, data
    ldr w21, [x20]
    mov w9, #9
    tst w21, w9                 // there is no bubblewrap around us
    b.eq rules
    tbz w21, #0, keep           // capabilities go as well
    mov x0, #28                 // PR_SET_SECUREBITS: being root gives no capabilities, for good
    mov x1, #0x2f
    mov x2, #0
    mov x3, #0
    mov x4, #0
    mov x8, #167                // prctl
    svc #0
    cbz x0, give_up
    tbnz w21, #1, failed        // only root can, and only root must
give_up:
    add x0, x20, #40
    add x1, x20, #48
    mov x8, #91                 // capset
    svc #0
    cbnz x0, failed
keep:
    mov x0, #38                 // PR_SET_NO_NEW_PRIVS
    mov x1, #1
    mov x2, #0
    mov x3, #0
    mov x4, #0
    mov x8, #167                // prctl
    svc #0
    cbnz x0, failed
rules:
    add x0, x20, #16
    ldr w1, [x20, #8]
    mov x2, #0
    mov x8, #444                // landlock_create_ruleset
    svc #0
    tbnz x0, #63, failed
    mov x22, x0
    add x23, x20, #88
    sub sp, sp, #16
next:
    ldr x24, [x23]
    cbz x24, restrict
    str x24, [sp]
    mov x0, #-100               // AT_FDCWD
    add x1, x23, #16
    mov x2, #0x280000           // O_PATH | O_CLOEXEC
    mov x3, #0
    mov x8, #56                 // openat
    svc #0
    tbnz x0, #63, skip          // what is not there is not granted
    mov x25, x0
    str w0, [sp, #8]
    mov x0, x22
    mov x1, #1                  // LANDLOCK_RULE_PATH_BENEATH
    mov x2, sp
    mov x3, #0
    mov x8, #445                // landlock_add_rule
    svc #0
    tbnz x0, #63, failed
    mov x0, x25
    mov x8, #57                 // close
    svc #0
skip:
    ldr w24, [x23, #12]
    add x23, x23, x24
    b next
restrict:
    mov x0, x22
    mov x1, #0
    mov x8, #446                // landlock_restrict_self
    svc #0
    cbnz x0, failed
    mov x0, x22
    mov x8, #57
    svc #0
    ldr w0, [x20, #4]           // the handle that we were started from
    mov x8, #57
    svc #0
    tbz w21, #2, become         // a filter of system calls
    mov x0, #1                  // SECCOMP_SET_MODE_FILTER
    mov x1, #0
    add x2, x20, #72
    mov x8, #277                // seccomp
    svc #0
    cbnz x0, failed
become:
    ldr x24, [x19]
    add x24, x19, x24, lsl #3
    add x24, x24, #16           // the environment
    ldr x0, [x19, #16]
    add x1, x19, #24
    mov x2, x24
    mov x8, #221                // execve
    svc #0
    cmn x0, #8                  // ENOEXEC: a script without a first line, for a shell
    b.ne not_run
    ldr x0, [x19, #16]
    str x0, [x19, #24]
    adr x0, shell
    str x0, [x19, #16]
    add x1, x19, #16
    mov x2, x24
    mov x8, #221
    svc #0
not_run:
    mov x1, #127
    cmn x0, #2                  // ENOENT
    b.eq leave
    mov x1, #126
    b leave
failed:
    mov x0, #2
    adr x1, words
    mov x2, #(words_end - words)
    mov x8, #64                 // write
    svc #0
    mov x1, #125
leave:
    mov x0, x1
    mov x8, #94                 // exit_group
    svc #0
shell:
    .asciz "/bin/sh"
words:
    .ascii "holdfast: the sandbox's second wall cannot be built, so nothing was run\n"
words_end:
    .balign 8
data:
