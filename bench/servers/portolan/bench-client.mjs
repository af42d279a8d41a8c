/** Portolan's client with the interface of the driver. */
export function toBenchClient(client) {
  return {
    listTools: () => client.listTools(),
    call: (name, args, onProgress) =>
      onProgress === undefined ? client.callTool(name, args) : client.callTool(name, args, { onProgress }),
    close: () => client.close(),
  };
}
