import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ questions: 'changes of the reconciler' });
