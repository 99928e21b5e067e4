/** What a panel without figures says. */
export const NO_DATA = '<p class="nothing">No data</p>'

/** A text as HTML shows it. */
export function asText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
