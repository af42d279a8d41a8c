// @ts-check
// Lets servers use models of this program.
import { connect } from "portolan/client";
import { answerSampling, chooseModel, needsOf } from "portolan-host/models";

/** @param {import("portolan/client").ConnectTarget} target @param {readonly import("portolan-host/models").Model[]} models */
export const connectWithModels = (target, models) =>
  connect(target, {
    answers: {
      async sample(params, { signal }) {
        const model = chooseModel(models, params.modelPreferences, needsOf(params));
        if (model === undefined) throw new Error("No model here can do this");
        return answerSampling(model, params, { signal });
      },
    },
  });
