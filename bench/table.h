/* SPDX-License-Identifier: MIT
 *
 * table.h: text in aligned columns, and in lines that are not too long. */
#ifndef SATTN_BENCH_TABLE_H
#define SATTN_BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SATTN_TABLE_COLUMNS_MAX = 16, SATTN_TABLE_CELL_MAX = 160 };

typedef struct sattn_table_column {
    const char *header;
    int min_width; /* so that several tables can line up */
    bool right;    /* aligned to the right, as numbers are */
} sattn_table_column;

typedef struct sattn_table {
    const sattn_table_column *columns; /* kept by the caller */
    int n_columns;
    size_t n_rows, capacity;
    char (*cells)[SATTN_TABLE_CELL_MAX]; /* [n_rows][n_columns] */
    bool out_of_memory;                  /* rows are missing */
} sattn_table;

void sattn_table_init(sattn_table *table, const sattn_table_column *columns, int n_columns);
void sattn_table_free(sattn_table *table);

/* A new row of empty cells; false if memory ran out: then this row and all further ones are
 * missing, and the printed table says so. */
bool sattn_table_add_row(sattn_table *table);
/* Sets a cell of the last row, printf style; longer text is cut. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void sattn_table_set(sattn_table *table, int column, const char *format, ...);

/* A time in three significant digits and a unit: "7.37 ms". */
void sattn_format_time(double ns, char *text, size_t size);

/* Every line begins with `indent` spaces and ends without any. A column without a header and any
 * text takes no room. */
void sattn_table_print(const sattn_table *table, FILE *file, bool with_header, int indent);

/* A text that begins at `column` of a line, in lines of at most `width` that break at spaces and
 * after commas, those after the first indented. */
void sattn_print_wrapped(FILE *file, const char *text, int indent, int column, int width);

#endif
