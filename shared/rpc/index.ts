/** The JSON-RPC endpoint of the server role (design §5). */
export { handleRpc } from './handle.ts';
export type { RpcHttpAnswer, RpcHttpRequest, RpcServices } from './services.ts';
