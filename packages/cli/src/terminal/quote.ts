/** A word as a shell takes it: a file may have called its server anything, `; rm -rf ~` included. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
