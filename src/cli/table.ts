/** A cell: its text, and how it is shown once its width is known. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string }

/** Lines of cells under one another, two spaces apart; the last column is not filled up. */
export function table(rows: readonly (readonly Cell[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, textOf(cell).length)
    }
  }
  return rows.map((row) =>
    row
      .map((cell, column) => shown(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text
}

function shown(cell: Cell, width: number): string {
  const text = textOf(cell)
  const filling = ' '.repeat(width - text.length)
  return (typeof cell === 'string' ? text : cell.paint(text)) + filling
}
