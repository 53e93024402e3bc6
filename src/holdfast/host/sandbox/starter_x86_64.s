# The first program of a confined command: gives up rights for good, then becomes the command itself.
# argv: its own name, the path of the command, the command's words. What it is to do stands behind the code.
    .globl _start
_start:
    mov %rsp, %rbx
    lea data(%rip), %r15
    testl $9, (%r15)            # there is no bubblewrap around us
    jz rules
    testl $1, (%r15)            # capabilities go as well
    jz keep
    mov $28, %edi               # PR_SET_SECUREBITS: being root gives no capabilities, for good
    mov $0x2f, %esi
    xor %edx, %edx
    xor %r10d, %r10d
    xor %r8d, %r8d
    mov $157, %eax              # prctl
    syscall
    test %eax, %eax
    jz give_up
    testl $2, (%r15)            # only root can, and only root must
    jnz failed
give_up:
    lea 40(%r15), %rdi
    lea 48(%r15), %rsi
    mov $126, %eax              # capset
    syscall
    test %eax, %eax
    jnz failed
keep:
    mov $38, %edi               # PR_SET_NO_NEW_PRIVS
    mov $1, %esi
    xor %edx, %edx
    xor %r10d, %r10d
    xor %r8d, %r8d
    mov $157, %eax              # prctl
    syscall
    test %eax, %eax
    jnz failed
rules:
    lea 16(%r15), %rdi
    mov 8(%r15), %esi
    xor %edx, %edx
    mov $444, %eax              # landlock_create_ruleset
    syscall
    test %eax, %eax
    js failed
    mov %eax, %r12d
    lea 88(%r15), %r13
    sub $16, %rsp
next:
    mov (%r13), %rax
    test %rax, %rax
    jz restrict
    mov %rax, (%rsp)
    mov $-100, %edi             # AT_FDCWD
    lea 16(%r13), %rsi
    mov $0x280000, %edx         # O_PATH | O_CLOEXEC
    xor %r10d, %r10d
    mov $257, %eax              # openat
    syscall
    test %eax, %eax
    js skip                     # what is not there is not granted
    mov %eax, 8(%rsp)
    mov %r12d, %edi
    mov $1, %esi                # LANDLOCK_RULE_PATH_BENEATH
    mov %rsp, %rdx
    xor %r10d, %r10d
    mov $445, %eax              # landlock_add_rule
    syscall
    test %eax, %eax
    js failed
    mov 8(%rsp), %edi
    mov $3, %eax                # close
    syscall
skip:
    mov 12(%r13), %eax
    add %rax, %r13
    jmp next
restrict:
    mov %r12d, %edi
    xor %esi, %esi
    mov $446, %eax              # landlock_restrict_self
    syscall
    test %eax, %eax
    jnz failed
    mov %r12d, %edi
    mov $3, %eax
    syscall
    mov 4(%r15), %edi           # the handle that we were started from
    mov $3, %eax
    syscall
    testl $4, (%r15)            # a filter of system calls
    jz become
    mov $1, %edi                # SECCOMP_SET_MODE_FILTER
    xor %esi, %esi
    lea 72(%r15), %rdx
    mov $317, %eax              # seccomp
    syscall
    test %eax, %eax
    jnz failed
become:
    mov (%rbx), %rax
    lea 16(%rbx,%rax,8), %r14   # the environment
    mov 16(%rbx), %rdi
    lea 24(%rbx), %rsi
    mov %r14, %rdx
    mov $59, %eax               # execve
    syscall
    cmp $-8, %eax               # ENOEXEC: a script without a first line, for a shell
    jne not_run
    mov 16(%rbx), %rax
    mov %rax, 24(%rbx)
    lea shell(%rip), %rdi
    mov %rdi, 16(%rbx)
    lea 16(%rbx), %rsi
    mov %r14, %rdx
    mov $59, %eax
    syscall
not_run:
    mov $127, %edi
    cmp $-2, %eax               # ENOENT
    je leave
    mov $126, %edi
    jmp leave
failed:
    mov $2, %edi
    lea words(%rip), %rsi
    mov $words_end-words, %edx
    mov $1, %eax                # write
    syscall
    mov $125, %edi
leave:
    mov $231, %eax              # exit_group
    syscall
shell:
    .asciz "/bin/sh"
words:
    .ascii "holdfast: the sandbox's second wall cannot be built, so nothing was run\n"
words_end:
    .balign 8
data:
