/**
 * Providers: what a run calls, in order, until one answers (design §5, Execute). The adapters that load clients of their
 * own, `adapter.ts`, `function-lambda.ts` and `models.ts`, are for composition roots to import by file.
 */
export { type ChainInput, runChain } from './chain.ts';
export { echoAdapter } from './echo.ts';
export { failed } from './failure.ts';
export {
  CONTRACT_VERSION,
  type FunctionAnswer,
  type FunctionArtifact,
  type FunctionInvocation,
  type FunctionText,
  MAX_PROGRESS,
} from './function-contract.ts';
export { type ValidResult, validateResult } from './result.ts';
export type * from './types.ts';
export { MAX_CALLS, MAX_TURNS } from './types.ts';
