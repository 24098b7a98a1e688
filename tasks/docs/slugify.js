/**
 * The anchor of a heading, as GitHub makes it.
 *
 * @param {string} heading Text of the heading.
 * @returns {string} The anchor without "#".
 */
export function slugify(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
}
