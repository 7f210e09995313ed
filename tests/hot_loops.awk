# SPDX-License-Identifier: MIT
#
# hot_loops.awk: reads compiled kernels and tells what their hot loops are made of.
#
#   awk [-v objdump=COMMAND] [-v check=1] -f hot_loops.awk OBJECT...
#
# Prints a line for each innermost loop of eight or more vector FMAs (of one or more in an autovec
# object), and with check=1 fails where a kernel breaks a rule; the rules are in the first part. The
# objects are for x86-64, read in AT&T syntax, or AArch64; objdump is that of GNU binutils or LLVM.
#
# Loops    The graph of a function's basic blocks is cut into strongly connected components; without
#          the block where one is entered it is cut again, until none is left (the loop nesting of
#          Havlak 1997). So neither the order of blocks nor padding between them matters, and a cold
#          block far behind belongs to the loop that it returns to. Where a jump table leads is not
#          known: a loop around one may be missed, loops behind one are not.
# Stack    Data flow from the stack pointer tells which registers may hold an address on the stack.
#          So rbp and x29 count only where they do, and arrays addressed by other registers count.
# Sums     What a register holds when a step begins, and again when it ends, with nothing but
#          products added in between. A loop with eight FMAs on sums multiplies matrices; hot loops
#          without work out exp.

BEGIN {
    MIN_FMAS = 8
    MIN_PREFILL_SHARE = 0.75
    FULL_TILE = 8 # sums; fewer are the rest of an extent
    if (objdump == "")
        objdump = "objdump"
    printf "%-26s %-31s %6s %5s %5s %6s %4s %5s %6s %6s %6s %6s %5s %5s %5s %6s\n", "object",
        "function", "at", "insns", "FMAs", "share", "sums", "loads", "bcasts", "stores", "prefet",
        "memops", "stack", "calls", "jumps", "i/lane"
    n_failures = n_checked = best_autovec = worst_autovec = 0
    for (file = 1; file < ARGC; ++file) # first what the others are compared with
        if (ARGV[file] ~ /_autovec[^\/]*$/)
            read_object(ARGV[file])
    for (file = 1; file < ARGC; ++file)
        if (ARGV[file] !~ /_autovec[^\/]*$/)
            read_object(ARGV[file])
    if (check && n_checked == 0)
        fail("no object of a hand-written kernel was given")
    exit n_failures > 0
}

# ---- what is asked of kernels

function fail(what) {
    print "FAILED: " what
    ++n_failures
}

function start_object() {
    is_autovec = object ~ /_autovec/
    n_products = most_fmas = share_of_most = 0
}

# Called for each innermost loop of a function that has vector FMAs.
function judge_loop(list, count,    where) {
    count_loop(list, count)
    where = at[first[list[1]]]
    if (n_fmas >= (is_autovec ? 1 : MIN_FMAS))
        printf "%-26s %-31s %6s %5d %5d %5.1f%% %4d %5d %6d %6d %6d %6d %5d %5d %5d %6.3f\n", object,
            function_name, where, n_insns, n_fmas, 100 * n_fmas / n_insns, n_sums, n_loads,
            n_broadcasts, n_stores, n_prefetches, n_fmas_with_memory, n_on_stack, n_calls, n_jumps,
            n_insns / n_lanes
    if (is_autovec && n_fmas > 0)
        note_autovec(n_insns / n_lanes)
    else if (check && n_fmas > 0)
        check_loop(object ": loop at " where " of " function_name ": ", n_insns / n_lanes)
}

# Of the autovec sibling's products: the loop for whole vectors and many keys, and that for a rest.
function note_autovec(per_lane) {
    if (n_others > 0)
        return
    if (best_autovec == 0 || per_lane < best_autovec)
        best_autovec = per_lane
    if (per_lane > worst_autovec)
        worst_autovec = per_lane
}

function check_loop(where, per_lane,    limit) {
    if (n_on_stack > 0)
        fail(where n_on_stack " vector instructions on the stack, such as " first_on_stack)
    if (n_calls > 0)
        fail(where n_calls " calls")
    if (n_fmas_on_sums < MIN_FMAS)
        return
    ++n_products
    if (n_jumps > 1) # chooses what part of a vector to load: the sibling has nothing like it
        return
    if (n_fmas > most_fmas || (n_fmas == most_fmas && n_fmas / n_insns < share_of_most)) {
        most_fmas = n_fmas
        share_of_most = n_fmas / n_insns
    }
    # Where there is no Arm hardware, this stands in for being no slower than the sibling.
    limit = n_sums < FULL_TILE ? worst_autovec : best_autovec
    if (is_arm && per_lane >= limit)
        fail(where sprintf("%.3f instructions per lane of an FMA, the autovec sibling has %.3f",
            per_lane, limit))
}

function finish_object() {
    if (!check || object !~ /^(fused|qk|av)_/ || object ~ /_autovec|_scalar/)
        return
    ++n_checked
    if (n_products == 0)
        fail(object ": no loop with " MIN_FMAS " FMAs on sums")
    if (object == "fused_f32_neon" && share_of_most < MIN_PREFILL_SHARE)
        fail(object sprintf(": FMAs are %.1f%% of the loop with the most of them, not %.0f%%",
            100 * share_of_most, 100 * MIN_PREFILL_SHARE))
}

# ---- what a loop holds

function count_loop(list, count,    i, k, registers, sum) {
    sort(list, count)
    n_insns = n_fmas = n_lanes = n_sums = n_fmas_on_sums = n_loads = n_broadcasts = n_stores = 0
    n_prefetches = n_fmas_with_memory = n_others = n_on_stack = n_calls = n_jumps = 0
    split("", sum_in)
    split("", n_fmas_on)
    for (k = 1; k <= count; ++k) {
        registers = stack_in[list[k]]
        for (i = first[list[k]]; i <= last[list[k]]; ++i) {
            count_instruction(i, registers)
            registers = stack_after(registers, i)
        }
    }
    for (sum in n_fmas_on)
        if ((sum in sum_in) && sum_in[sum] == sum) { # else it is a constant
            ++n_sums
            n_fmas_on_sums += n_fmas_on[sum]
        }
}

function count_instruction(i, registers,    lanes) {
    ++n_insns
    n_calls += is_call(i)
    n_jumps += flow_of(i) != ""
    n_prefetches += is_prefetch(i)
    if (!is_vector(i))
        return
    follow_sums(i)
    lanes = is_fma(i)
    n_lanes += lanes
    n_broadcasts += is_broadcast(i)
    if (lanes) {
        ++n_fmas
        n_fmas_with_memory += has_memory(i)
    } else if (is_store(i))
        ++n_stores
    else if (!is_broadcast(i) && has_memory(i))
        ++n_loads
    else if (!is_broadcast(i) && !is_move(i))
        ++n_others
    if (has_memory(i) && is_on_stack(i, registers) && ++n_on_stack == 1)
        first_on_stack = at[i] ": " word[i] " " args[i]
}

# sum_in[r]: the register that held, when the step began, what register r now holds with products
# added; "" if r holds something else. n_fmas_on[r]: FMAs that have added to what r held.
function follow_sums(i,    operands, count, list, k, sum) {
    sum = ""
    count = operands_of(i, operands)
    if (is_fma(i)) {
        k = is_arm ? 1 : word[i] ~ /231/ ? count : word[i] ~ /132/ ? 2 : 1
        sum = sum_of(vector_name(operands[k]))
        if (sum != "")
            ++n_fmas_on[sum]
    } else if (is_move(i))
        sum = sum_of(vector_name(operands[is_arm ? 2 : 1]))
    count = split(vectors_written(i), list, " ")
    for (k = 1; k <= count; ++k)
        sum_in[list[k]] = sum
}

function sum_of(name) {
    return (name in sum_in) ? sum_in[name] : name
}

# ---- reading

function read_object(path,    command, line) {
    object = path
    sub(/^.*\//, "", object)
    sub(/\.c\.o(bj)?$/, "", object)
    start_object()
    is_arm = n_read = 0
    start_function("")
    command = "'" objdump "' -d -r --no-show-raw-insn '" path "'"
    while ((command | getline line) > 0) {
        if (line ~ /file format /)
            is_arm = line ~ /aarch64|arm64/
        else if (line ~ /^[0-9a-f]+ <.*>:$/) {
            finish_function()
            gsub(/^[^<]*<|>:$/, "", line)
            start_function(line)
        } else if (line ~ /^[ \t]*[0-9a-f]+:[ \t]+([A-Z0-9]+_RELOC|R_[A-Z0-9]+)_/)
            is_relocated[n] = 1
        else if (line ~ /^[ \t]*[0-9a-f]+:[ \t]+[a-z]/)
            read_instruction(line)
    }
    close(command)
    finish_function()
    if (n_read == 0)
        fail(object ": no code was read with " objdump)
    finish_object()
}

function start_function(name) {
    function_name = name
    n = n_function_fmas = 0
    split("", index_at)
    split("", is_relocated)
}

function read_instruction(line,    text, address) {
    text = address = line
    sub(/^[ \t]*/, "", address)
    sub(/:.*$/, "", address)
    sub(/^[ \t]*[0-9a-f]+:[ \t]+/, "", text)
    gsub(/\t/, " ", text)
    if (is_arm)
        sub(/ *\/\/.*$/, "", text)
    else {
        sub(/ *#.*$/, "", text)
        gsub(/ [{]/, "{", text)
        while (text ~ /^(notrack|bnd|lock|data16|[cdefgs]s|rep[a-z]*|rex[.A-Z]*) /)
            sub(/^[^ ]+ +/, "", text)
    }
    ++n
    ++n_read
    index_at[address] = n
    at[n] = address
    word[n] = args[n] = text
    sub(/ .*$/, "", word[n])
    sub(/^[^ ]* */, "", args[n])
    if (is_fma(n))
        ++n_function_fmas
}

# ---- what an instruction is

# Number of lanes of a vector FMA, else 0.
function is_fma(i,    lanes) {
    if (is_arm) {
        if (word[i] !~ /^fml[as](\.|$)/ || !match(word[i] " " args[i], /\.[248][shd]/))
            return 0
        lanes = substr(word[i] " " args[i], RSTART + 1, 1)
        return args[i] ~ /^[sdh]/ ? 0 : lanes + 0
    }
    if (word[i] !~ /^vfn?m(add|sub)(132|213|231)p[sd]$/)
        return 0
    lanes = args[i] ~ /%zmm/ ? 16 : args[i] ~ /%ymm/ ? 8 : 4
    return word[i] ~ /d$/ ? lanes / 2 : lanes
}

function is_vector(i) {
    return is_arm ? args[i] !~ /</ && args[i] ~ /(^|[ {,])[vqdshb][0-9]/ : args[i] ~ /%[xyz]mm[0-9]/
}

function has_memory(i) {
    return is_arm ? args[i] ~ /\[(x|sp)/ : args[i] ~ /\(/
}

function is_store(i) {
    return is_arm ? word[i] ~ /^st/ : args[i] ~ /\)([{]%k[0-7][}])?$/
}

function is_broadcast(i) {
    if (is_arm)
        return word[i] ~ /^(dup|ld1r)/
    return word[i] ~ /^v(p?broadcast|movddup)/ || args[i] ~ /[{]1to[0-9]+[}]/
}

# A whole register copied to another.
function is_move(i) {
    return is_arm ? word[i] == "mov" && args[i] ~ /^v[0-9]+\.16b, *v[0-9]+\.16b$/ : \
        word[i] ~ /^vmov(ap|up|dq[au])/ && args[i] ~ /^%[xyz]mm[0-9]+, *%[xyz]mm[0-9]+$/
}

function is_prefetch(i) {
    return word[i] ~ /^(prefetch|prfm|prfum)/
}

function is_call(i) {
    return is_arm ? word[i] ~ /^(bl|blr|blraa|blrab)$/ : word[i] ~ /^call/
}

# How control goes on: "" to the next instruction, "branch" there or to the target, "jump" to the
# target, "end" somewhere unknown or nowhere.
function flow_of(i) {
    if (is_arm) {
        if (word[i] ~ /^(bc?\..*|cbn?z|tbn?z)$/)
            return "branch"
        if (word[i] ~ /^(ret|br|brk|udf|hlt)/)
            return "end"
        return word[i] == "b" ? "jump" : ""
    }
    if (word[i] ~ /^jmp/)
        return args[i] ~ /^\*/ ? "end" : "jump"
    if (word[i] ~ /^(ret|ud2|hlt|int3)/)
        return "end"
    return word[i] ~ /^(j|loop)/ ? "branch" : ""
}

# Index of the instruction that a jump or branch leads to, 0 if it leaves the function.
function target_of(i,    target) {
    if (i in is_relocated)
        return 0
    target = args[i]
    sub(/ *<.*$/, "", target)
    sub(/^.*[, ]/, "", target)
    sub(/^0x/, "", target)
    return (target in index_at) ? index_at[target] : 0
}

# Splits the operands of instruction i and returns their number; memory operands become "".
function operands_of(i, operands,    text) {
    text = args[i]
    gsub(/[^, ]*\([^)]*\)([{]1to[0-9]+[}])?|, \[[^]]*\].*$/, "", text)
    return split(text, operands, /, */)
}

# Number of the vector register that an operand names, "" if it is none.
function vector_name(operand) {
    if (is_arm ? operand !~ /^[vqdshb][0-9]/ : operand !~ /^%[xyz]mm/)
        return ""
    sub(is_arm ? "^." : "^%.mm", "", operand)
    sub(/[^0-9].*$/, "", operand)
    return operand
}

# Names of the vector registers that instruction i writes, each between blanks.
function vectors_written(i,    text, names) {
    text = args[i]
    if (is_store(i))
        return ""
    if (!is_arm) {
        sub(/^.*[, ]/, "", text)
        return vector_name(text)
    }
    if (has_memory(i))
        sub(/,? *\[(x|sp).*$/, "", text)
    else
        sub(/,.*$/, "", text)
    names = ""
    while (match(text, /[vqdshb][0-9]+/)) {
        if (RSTART == 1 || substr(text, RSTART - 1, 1) ~ /[ {,-]/)
            names = names " " substr(text, RSTART + 1, RLENGTH - 1) " "
        text = substr(text " ", RSTART + RLENGTH)
    }
    return names
}

# ---- blocks

# Cuts the function into blocks first[b] .. last[b], with edges next_block[b, 1 or 2] to the next
# and the target, 0 where there is none, and from[b], a list of the blocks that lead to b.
function cut_into_blocks(    i, b, flow, target, is_first) {
    is_first[1] = 1
    for (i = 1; i <= n; ++i) {
        flow = flow_of(i)
        if (flow == "")
            continue
        is_first[i + 1] = 1
        target = flow == "end" ? 0 : target_of(i)
        if (target)
            is_first[target] = 1
    }
    n_blocks = 0
    for (i = 1; i <= n; ++i) {
        if (i in is_first)
            first[++n_blocks] = i
        block_of[i] = n_blocks
        last[n_blocks] = i
    }
    for (b = 1; b <= n_blocks; ++b)
        from[b] = ""
    for (b = 1; b <= n_blocks; ++b) {
        flow = flow_of(last[b])
        target = flow == "branch" || flow == "jump" ? target_of(last[b]) : 0
        next_block[b, 1] = (flow == "" || flow == "branch") && b < n_blocks ? b + 1 : 0
        next_block[b, 2] = target ? block_of[target] : 0
        for (i = 1; i <= 2; ++i)
            if (next_block[b, i])
                from[next_block[b, i]] = from[next_block[b, i]] " " b
    }
}

# ---- loops

function finish_function(    b, all) {
    if (n_function_fmas == 0)
        return
    cut_into_blocks()
    follow_stack()
    all = ""
    for (b = 1; b <= n_blocks; ++b) {
        region[b] = 1
        all = all " " b
    }
    n_regions = 1
    n_sets = 0
    find_components(all, 1)
    for (next_set = 1; next_set <= n_sets; ++next_set)
        open_loop(set[next_set])
}

# Tarjan's algorithm, without recursion, on the blocks of one region: appends each component that
# can be left and entered again to set[], and returns how many there were.
function find_components(blocks, id,    n_before, list, count, i, path, depth, b, to) {
    n_before = n_sets
    clock = top = 0
    count = split(blocks, list, " ")
    for (i = 1; i <= count; ++i)
        order[list[i]] = 0
    for (i = 1; i <= count; ++i) {
        if (order[list[i]])
            continue
        depth = 1
        visit(path[1] = list[i])
        while (depth > 0) {
            b = path[depth]
            if (n_followed[b] < 2) {
                to = next_block[b, ++n_followed[b]]
                if (!to || region[to] != id)
                    continue
                if (!order[to])
                    visit(path[++depth] = to)
                else if (is_stacked[to] && order[to] < low[b])
                    low[b] = order[to]
            } else {
                if (low[b] == order[b])
                    take_component(b)
                if (--depth > 0 && low[b] < low[path[depth]])
                    low[path[depth]] = low[b]
            }
        }
    }
    return n_sets - n_before
}

function visit(b) {
    order[b] = low[b] = ++clock
    n_followed[b] = 0
    is_stacked[b] = 1
    stacked[++top] = b
}

function take_component(b,    blocks, size, to) {
    size = 0
    blocks = ""
    do {
        to = stacked[top--]
        is_stacked[to] = 0
        blocks = blocks " " to
        ++size
    } while (to != b)
    if (size > 1 || next_block[b, 1] == b || next_block[b, 2] == b)
        set[++n_sets] = blocks
}

# Looks for loops inside a loop and, where there are none, has it judged.
function open_loop(blocks,    list, count, i, id, header, inner) {
    id = ++n_regions
    count = split(blocks, list, " ")
    for (i = 1; i <= count; ++i)
        region[list[i]] = id
    header = header_of(list, count, id)
    region[header] = 0
    inner = find_components(blocks_without(list, count, header), id)
    region[header] = id
    inner += open_shared_header(header, id, n_sets - inner + 1)
    region[header] = 0
    if (!inner)
        judge_loop(list, count)
}

# The block where a loop is entered: the first of those that blocks outside lead to, preferably one
# that the loop jumps back to. Blocks behind a jump table have nothing that leads to them.
function header_of(list, count, id,    i, k, b, n_from, source, is_entry, is_back, rank, best,
                   best_rank) {
    best = best_rank = 0
    for (i = 1; i <= count; ++i) {
        b = list[i]
        n_from = split(from[b], source, " ")
        is_entry = b == 1 || n_from == 0
        is_back = 0
        for (k = 1; k <= n_from; ++k) {
            if (region[source[k]] != id)
                is_entry = 1
            else if (source[k] + 0 >= b + 0)
                is_back = 1
        }
        rank = 2 * is_entry + is_back
        if (rank > best_rank || (rank == best_rank && b + 0 < best + 0)) {
            best = b
            best_rank = rank
        }
    }
    return best
}

function blocks_without(list, count, left_out,    i, blocks) {
    blocks = ""
    for (i = 1; i <= count; ++i)
        if (list[i] != left_out)
            blocks = blocks " " list[i]
    return blocks
}

# Loops of one header look like one. Where what one jump back closes is part of what another does,
# the smaller is the loop inside, unless the sets from first_inner on are loops inside that. Judges
# such loops and returns their number.
function open_shared_header(header, id, first_inner,    source, count, i, k, body, size, list,
                            is_inside, found) {
    count = split(from[header], source, " ")
    for (i = 1; i <= count; ++i) {
        body[i] = region[source[i]] == id ? natural_loop(header, source[i], id) : ""
        size[i] = gsub(/[0-9]+/, "&", body[i])
    }
    found = 0
    for (i = 1; i <= count; ++i) {
        is_inside = 0
        for (k = 1; size[i] && k <= count; ++k) {
            if (size[k] > size[i] && is_subset(body[i], body[k]))
                is_inside = 1
            else if (size[k] && size[k] < size[i] && is_subset(body[k], body[i]))
                size[i] = 0
        }
        for (k = first_inner; k <= n_sets; ++k)
            if (is_subset(set[k], body[i]))
                is_inside = 0
        if (size[i] && is_inside) {
            k = split(body[i], list, " ")
            judge_loop(list, k)
            ++found
        }
    }
    return found
}

# Blocks from which `latch` is reached without passing the header, and the header.
function natural_loop(header, latch, id,    blocks, waiting, count, source, n_from, i) {
    blocks = " " header " "
    count = 1
    waiting[1] = latch
    while (count > 0) {
        latch = waiting[count--]
        if (index(blocks, " " latch " "))
            continue
        blocks = blocks latch " "
        n_from = split(from[latch], source, " ")
        for (i = 1; i <= n_from; ++i)
            if (region[source[i]] == id)
                waiting[++count] = source[i]
    }
    return blocks
}

function is_subset(blocks, others,    list, count, i) {
    count = split(blocks, list, " ")
    for (i = 1; i <= count; ++i)
        if (!index(" " others " ", " " list[i] " "))
            return 0
    return 1
}

function sort(list, count,    i, k, moved) {
    for (i = 2; i <= count; ++i) {
        moved = list[i]
        for (k = i; k > 1 && list[k - 1] + 0 > moved + 0; --k)
            list[k] = list[k - 1]
        list[k] = moved
    }
}

# ---- the stack

# stack_in[b]: the registers that may hold an address on the stack where block b begins, each
# between blanks. What an indirect jump leads to is not known, so all blocks that nothing else leads
# to take over from all of them.
function follow_stack(    b, i, to, registers, is_changed, unknown) {
    for (i = 1; i <= n; ++i)
        note_addresses(i)
    unknown = is_arm ? " sp " : " %rsp "
    for (b = 1; b <= n_blocks; ++b)
        stack_in[b] = unknown
    do {
        is_changed = 0
        for (b = 1; b <= n_blocks; ++b) {
            if (from[b] == "")
                stack_in[b] = united(stack_in[b], unknown)
            registers = stack_in[b]
            for (i = first[b]; i <= last[b]; ++i)
                registers = stack_after(registers, i)
            if (flow_of(last[b]) == "end" && united(unknown, registers) != unknown) {
                unknown = united(unknown, registers)
                is_changed = 1
            }
            for (i = 1; i <= 2; ++i) {
                to = next_block[b, i]
                if (to && united(stack_in[to], registers) != stack_in[to]) {
                    stack_in[to] = united(stack_in[to], registers)
                    is_changed = 1
                }
            }
        }
    } while (is_changed)
}

function united(registers, more,    list, count, i) {
    if (registers == more)
        return registers
    count = split(more, list, " ")
    for (i = 1; i <= count; ++i)
        if (!index(registers, " " list[i] " "))
            registers = registers list[i] " "
    return registers
}

# Notes which general registers instruction i writes, and which an address in them may come from.
function note_addresses(i,    text) {
    writes[i] = comes_from[i] = ""
    text = args[i]
    if (is_arm) {
        if (word[i] ~ /^(st|cmp|cmn|tst|ccmp|ccmn|prf|nop)/ || text !~ /^[xw][0-9]/ ||
            flow_of(i) != "")
            return
        writes[i] = word[i] ~ /^ldn?p/ ? named(text, 2) : named(text, 1)
        sub(/^[^,]*,?/, "", text)
        if (word[i] ~ /^(add|sub|mov|csel)$/)
            comes_from[i] = named(text, 9)
        return
    }
    if (word[i] ~ /^(i?div|i?mul)[lq]?$/ && text !~ /,/) {
        writes[i] = " %rax  %rdx "
        return
    }
    if (word[i] ~ /^(cmp|test|push|bt|nop|prefetch)/ || flow_of(i) != "" || text !~ /%[a-z0-9]+$/)
        return
    sub(/^.*[, ]/, "", text)
    writes[i] = named(text, 1)
    text = substr(args[i], 1, length(args[i]) - length(text))
    if (word[i] ~ /^lea/ || (word[i] ~ /^(mov|cmov|add|sub|and|or)/ && text !~ /\(/))
        comes_from[i] = named(text, 9)
    if (word[i] ~ /^(cmov|add|sub|and|or|inc|dec)/)
        comes_from[i] = comes_from[i] writes[i]
}

# The first `most` general registers of a text, each between blanks, under the names of their full
# width.
function named(text, most,    names, name) {
    names = ""
    while (most-- > 0 && match(text, is_arm ? "(x[0-9]+|w[0-9]+|sp)" : "%[a-z0-9]+")) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text " ", RSTART + RLENGTH)
        if (is_arm)
            sub(/^w/, "x", name)
        else if (name ~ /^%r[0-9]/)
            sub(/[dwb]$/, "", name)
        else if (name ~ /^%e?[abcd][xlh]$/)
            name = "%r" substr(name, length(name) - 1, 1) "x"
        else if (name !~ /^%r/)
            name = "%r" substr(name, name ~ /^%e/ ? 3 : 2, 2)
        names = names " " name " "
    }
    return names
}

function stack_after(registers, i,    list, count, k, is_address) {
    if (is_call(i))
        return without_volatile(registers)
    if (writes[i] == "")
        return registers
    is_address = 0
    count = split(comes_from[i], list, " ")
    for (k = 1; k <= count; ++k)
        if (index(registers, " " list[k] " "))
            is_address = 1
    count = split(writes[i], list, " ")
    for (k = 1; k <= count; ++k) {
        if (index(registers, " " list[k] " ") == 0) {
            if (is_address)
                registers = registers list[k] " "
        } else if (!is_address && list[k] !~ /sp$/)
            sub(" " list[k] " ", " ", registers)
    }
    return registers
}

function without_volatile(registers,    list, count, i, kept) {
    kept = " "
    count = split(registers, list, " ")
    for (i = 1; i <= count; ++i)
        if (list[i] !~ (is_arm ? "^x([0-9]|1[0-8])$" : "^%r(ax|cx|dx|si|di|8|9|10|11)$"))
            kept = kept list[i] " "
    return kept
}

# Whether a memory operand of instruction i is addressed by one of these registers.
function is_on_stack(i, registers,    text, list, count, k) {
    if (!match(args[i], is_arm ? "\\[(x|sp)[^]]*" : "\\([^)]*"))
        return 0
    text = substr(args[i], RSTART, RLENGTH)
    count = split(named(text, 2), list, " ")
    for (k = 1; k <= count; ++k)
        if (index(registers, " " list[k] " "))
            return 1
    return 0
}
