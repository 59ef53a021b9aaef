import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ early: 'changes', instant: 'changes', disordered: 'changes', polled: 'changes' });
