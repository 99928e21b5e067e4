/** What clients are told of a version that is to go. Dates in ms since 1970. */
export interface Retirement {
  /** From when on it should not be used any more; unless given, from `sunset` on. */
  readonly deprecated: number | undefined
  /** From when on it may be gone. */
  readonly sunset: number | undefined
  /** Where people read more about it: an address as URLs print it. */
  readonly link: string | undefined
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and what links to more; undefined where there is nothing to tell. */
export function retirementHeaders(
  retirement: Retirement,
): Readonly<Record<string, string>> | undefined {
  const { deprecated = retirement.sunset, sunset, link } = retirement
  if (deprecated === undefined) return undefined
  return {
    deprecation: `@${Math.floor(deprecated / 1000)}`,
    ...(sunset === undefined ? {} : { sunset: new Date(sunset).toUTCString() }),
    ...(link === undefined ? {} : { link: linksTo(link, sunset) }),
  }
}

function linksTo(link: string, sunset: number | undefined): string {
  const deprecation = `<${link}>; rel="deprecation"`
  return sunset === undefined ? deprecation : `${deprecation}, <${link}>; rel="sunset"`
}
