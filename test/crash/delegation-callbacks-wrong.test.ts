import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({
  disorderedSeparate: 'changes',
  lost: 'changes',
  liar: 'changes',
  stranger: 'changes',
});
