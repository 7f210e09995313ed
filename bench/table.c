/* SPDX-License-Identifier: MIT
 *
 * table.c: keeps cells as text; widths are the widest cell of each column. */
#include "bench/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_GAP = 2 };

void sattn_table_init(sattn_table *table, const sattn_table_column *columns, int n_columns)
{
    *table = (sattn_table){.columns = columns, .n_columns = n_columns};
}

void sattn_table_free(sattn_table *table)
{
    free(table->cells);
    *table = (sattn_table){0};
}

bool sattn_table_add_row(sattn_table *table)
{
    const size_t n_columns = (size_t)table->n_columns;
    if (table->out_of_memory)
        return false;
    if (table->n_rows == table->capacity) {
        const size_t capacity = table->capacity ? 2 * table->capacity : 16;
        void *const cells = realloc(table->cells, capacity * n_columns * sizeof table->cells[0]);
        if (!cells) {
            table->out_of_memory = true;
            return false;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    memset(table->cells[table->n_rows * n_columns], 0, n_columns * sizeof table->cells[0]);
    ++table->n_rows;
    return true;
}

void sattn_table_set(sattn_table *table, int column, const char *format, ...)
{
    if (table->n_rows == 0 || table->out_of_memory)
        return;
    const size_t cell = (table->n_rows - 1) * (size_t)table->n_columns + (size_t)column;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(table->cells[cell], SATTN_TABLE_CELL_MAX, format, arguments);
    va_end(arguments);
}

void sattn_format_time(double ns, char *text, size_t size)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    while (unit < 3 && ns >= 999.5) {
        ns /= 1000;
        ++unit;
    }
    const int decimals = ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2;
    snprintf(text, size, "%.*f %s", decimals, ns, units[unit]);
}

/* Columns of a terminal that UTF-8 text takes, if no character is wide. */
static int text_width(const char *text)
{
    int width = 0;
    for (; *text; ++text)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_line(const sattn_table *table, FILE *file, const int *widths, int indent,
                       const char *(*cell)(const sattn_table *, size_t, int), size_t row)
{
    int pending = indent; /* spaces owed, written only if text follows */
    for (int c = 0; c < table->n_columns; ++c) {
        if (widths[c] == 0)
            continue;
        const char *const text = cell(table, row, c);
        const int fill = widths[c] - text_width(text);
        if (table->columns[c].right)
            pending += fill;
        if (*text) {
            fprintf(file, "%*s%s", pending, "", text);
            pending = 0;
        }
        if (!table->columns[c].right)
            pending += fill;
        pending += COLUMN_GAP;
    }
    fputc('\n', file);
}

static const char *header_cell(const sattn_table *table, size_t row, int column)
{
    (void)row;
    return table->columns[column].header;
}

static const char *body_cell(const sattn_table *table, size_t row, int column)
{
    return table->cells[row * (size_t)table->n_columns + (size_t)column];
}

void sattn_table_print(const sattn_table *table, FILE *file, bool with_header, int indent)
{
    int widths[SATTN_TABLE_COLUMNS_MAX];
    for (int c = 0; c < table->n_columns; ++c) {
        widths[c] = table->columns[c].min_width;
        const int header_width = text_width(table->columns[c].header);
        if (with_header && header_width > widths[c])
            widths[c] = header_width;
        for (size_t r = 0; r < table->n_rows; ++r) {
            const int width = text_width(body_cell(table, r, c));
            if (width > widths[c])
                widths[c] = width;
        }
    }
    if (with_header)
        print_line(table, file, widths, indent, header_cell, 0);
    for (size_t r = 0; r < table->n_rows; ++r)
        print_line(table, file, widths, indent, body_cell, r);
    if (table->out_of_memory)
        fprintf(file, "%*s(out of memory: rows are missing)\n", indent, "");
}

void sattn_print_wrapped(FILE *file, const char *text, int indent, int column, int width)
{
    const char *space = "";
    while (*text) {
        size_t length = strcspn(text, " ,");
        length += strncmp(text + length, " %", 2) == 0 ? 2 : 0;
        length += text[length] == ',';
        if (column > indent && column + (int)strlen(space) + (int)length > width) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
            space = "";
        }
        column += fprintf(file, "%s%.*s", space, (int)length, text);
        text += length;
        space = *text == ' ' ? " " : "";
        text += strspn(text, " ");
    }
    fputc('\n', file);
}
