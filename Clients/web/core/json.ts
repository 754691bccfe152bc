/** Strings, each with a colon behind it if it names a field, and brackets. */
const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g;

/**
 * The object of a field as it stands in a JSON text, `level` objects and lists deep: read and written again, its numbers could
 * be other ones.
 */
export function objectText(json: string, name: string, level: number): string | undefined {
  let [depth, start] = [0, -1];
  let isNext = false;
  for (const { 0: token, 1: text, 2: colon, index } of json.matchAll(tokens)) {
    if (text !== undefined) isNext = depth === level && !!colon && JSON.parse(text) === name;
    else if (token === "{" || token === "[") {
      if (isNext) start = index;
      isNext = false;
      depth++;
    } else if (--depth === level && start >= 0) return json.slice(start, index + 1);
  }
  return undefined;
}
