/** Opens an https URL, or an http URL of this machine, in the system's browser, without a shell. Requires Node. */
export async function openBrowser(url: URL): Promise<void> {
  return (await import("#auth-browser")).openBrowser(url);
}
