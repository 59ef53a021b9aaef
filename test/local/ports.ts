import { connect } from 'node:net';

/** Whether somebody listens on 127.0.0.1 at the port of this URL. */
export function portIsOpen(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
