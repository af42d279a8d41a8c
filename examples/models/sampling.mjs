// @ts-check
// A client that lets servers use its models.
import { connect } from "portolan/client";
import { answerSampling, chooseModel, requirementsOf } from "portolan-host/models";

/** @param {import("portolan/client").ConnectTarget} target @param {readonly import("portolan-host/models").Model[]} models */
export const connectWithModels = (target, models) =>
  connect(target, {
    answers: {
      async sample(params, { signal }) {
        const model = chooseModel(models, params.modelPreferences, requirementsOf(params));
        if (model === undefined) throw new Error("No configured model can answer this request");
        return answerSampling(model, params, { signal });
      },
    },
  });
