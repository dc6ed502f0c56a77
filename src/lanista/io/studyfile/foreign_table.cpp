#include "lanista/io/studyfile/foreign_words.h"

namespace lanista::studyfile {

const std::vector<ForeignSetting>& foreign_settings() {
  static const std::vector<ForeignSetting> kAll = {
      // What is trained, and for how long.
      {"the learning rate is", "train.lr", "0.01", "",
       "lr learningrate learningrateinit initiallearningrate initiallr initlr baselr maxlr eta0 stepsize"},
      {"the number of epochs of a trial is", "train.epochs", "9", "--epochs 9",
       "epochs epoch maxepochs nepochs numepochs nbepochs nbepoch numtrainepochs trainepochs totalepochs "
       "epochspertrial maxiter niter maxresource maxt"},
      {"the number of training steps of a trial is", "train.steps", "1000", "",
       "steps maxsteps numsteps nsteps trainsteps trainingsteps iterations numiterations totalsteps"},
      {"the number of samples in a training step is", "data.batch", "32", "",
       "batch batchsize bs minibatch minibatchsize trainbatchsize perdevicetrainbatchsize batchsz"},
      {"the optimiser is", "train.optimizer", "adam", "", "optimizer optim optimiser solver optimizername"},
      {"the learning rate over time is", "train.schedule", "cosine", "",
       "schedule lrscheduler lrschedule learningrateschedule learningratescheduler lrdecay lrpolicy scheduler "
       "lrschedulertype"},
      {"the warm-up of the learning rate in epochs is", "train.warmup_epochs", "1", "",
       "warmup warmupsteps warmupepochs warmupratio numwarmupsteps"},
      {"the weight decay is", "train.weight_decay", "1e-4", "",
       "weightdecay wd l2 l2reg l2penalty l2regularization regularization decay"},
      {"the momentum is", "train.momentum", "0.9", "", "momentum"},
      {"the limit of the gradient's norm is", "train.clip_norm", "5", "",
       "clipnorm gradclip gradientclip gradientclipping gradientclipval gradclipnorm maxgradnorm clipgradnorm clip"},
      {"the loss that training minimises is", "train.loss", "cross_entropy", "",
       "loss lossfunction lossfn criterion lossname"},
      {"the weight of each class in the loss is", "train.class_weights", "balanced", "",
       "classweights classweight posweight scaleposweight"},
      {"the label smoothing is", "train.label_smoothing", "0.05", "", "labelsmoothing smoothing"},
      {"the precision of training is", "train.precision", "float64", "",
       "precision dtype amp mixedprecision fp16 bf16 halfprecision"},
      {"a file with weights to start from is", "train.start_from", "weights.onnx", "--start weights.onnx",
       "pretrained pretrainedweights pretrainedmodel initfrom initcheckpoint loadweights initialweights"},
      // When the study and its trials end.
      {"the number of trials is", "budget.trials", "60", "--trials 60",
       "trials ntrials maxtrials numtrials numsamples maxevals ncalls maxmodels nconfigs numconfigs evaluations "
       "maxiter niter trialcount totaltrials nruns"},
      {"the time limit of the study in minutes is", "budget.minutes", "5", "--minutes 5",
       "minutes guardminutes time maxhours timeout timebudget timelimit timebudgets timelimits maxtime maxminutes "
       "maxruntime "
       "maxruntimesecs walltime walltimelimit timeleftforthistask maxseconds maxtimeminutes duration seconds hours"},
      {"the number of training steps of all trials together is", "budget.steps", "5000", "", "steps"},
      {"early stopping of a trial is", "stop", "{rule: patience, epochs: 5}", "",
       "earlystopping earlystop earlystoppingpatience earlystoppingrounds earlystoppingrule patience niternochange "
       "callbacks"},
      {"the rule that ends weak trials early is", "stop", "{rule: asha, rungs: [1, 3]}", "",
       "pruner pruning trialscheduler scheduler halving asha hyperband successivehalving"},
      {"the first rung of a stopping rule is", "stop", "{rule: asha, min: 1, eta: 3}", "",
       "graceperiod minresource reductionfactor minepochs"},
      // What is optimised, and how.
      {"what is optimised is", "goal", "maximize val_accuracy", "--goal 'maximize val_accuracy'",
       "goal goals objective objectives objectivename direction directions metric metricname evalmetric "
       "evaluationmetric "
       "primarymetric scoring monitor mode optimize optimise maximize minimize targetmetric"},
      {"a limit on results is", "subject_to", "params <= 50k", "", "constraint constraints outcomeconstraints"},
      {"the strategy of the search is", "strategy", "tpe", "",
       "sampler tuner searchalg searchalgorithm searchmethod searchstrategy searcher algorithm algo method search hpo "
       "bayesian "
       "optimizationmethod"},
      {"the number of trainings of a proposal is", "strategy.repeat", "3", "",
       "repeat repeats nrepeats numrepeats seeds nseeds numseeds executionspertrial"},
      {"a trial to try first is", "strategy.enqueue", "[{lr: 0.01}]", "--enqueue first.yaml",
       "enqueue enqueuetrials pointstoevaluate initialpoints lowcostpartialconfig x0"},
      // What may vary.
      {"the hyper-parameters that vary are", "space.params", "{lr: log(0.001, 0.1)}", "",
       "params parameters parameter hyperparameters hyperparameter hparams searchspace paramspace parameterspace "
       "configspace paramgrid paramdistributions paramdist domain"},
      {"the model that trials begin with is", "model.base", "builtin:small-mlp", "",
       "base model models basemodel modelname architecture arch network net backbone estimator learner"},
      {"the layers of a model are in", "model.space",
       "{layers: [flatten, {linear: {out: 64}}, relu, {linear: {out: classes}}]}", "",
       "layers hiddenlayers hiddenlayersizes hiddensize hiddensizes hiddendim hiddenunits nhidden numlayers nlayers "
       "units neurons depth width filters channels"},
      {"dropout is a layer in", "model.space",
       "{layers: [flatten, {linear: {out: 64}}, {dropout: {p: 0.2}}, {linear: {out: classes}}]}", "",
       "dropout dropoutrate dropoutprob"},
      {"the activation is a layer in", "model.space",
       "{layers: [flatten, {linear: {out: 64}}, relu, {linear: {out: classes}}]}", "",
       "activation activations activationfunction nonlinearity"},
      {"a limit on the size of models is", "space.limits", "{params: 200k}", "",
       "maxparams maxparameters modelsize maxmodelsize"},
      // The data.
      {"the source of the data is", "data.source", "\"csv:table.csv?target=price\"", "",
       "source data dataset datasets datapath path file filename csv datafile datadir trainfile traindata trainingdata "
       "traincsv inputfile datasetpath trainset"},
      {"the column to predict is an option of", "data.source", "\"csv:table.csv?target=price\"", "",
       "target targetcolumn targetname label labels labelcolumn labelname ycolumn predict outputcolumn"},
      {"a column to leave out is an option of", "data.source", "\"csv:table.csv?target=price&drop=id\"", "",
       "drop dropcolumns ignorecolumns excludecolumns features featurecolumns columns"},
      {"a table of its own for the test part is an option of", "data.source",
       "\"csv:table.csv?target=price&test=test.csv\"", "", "testdata testfile testset testcsv"},
      {"the weight of each row is an option of", "data.source", "\"csv:table.csv?target=price&weight=w\"", "",
       "sampleweight sampleweights weightcolumn rowweights"},
      {"the shares of the training, validation and test part are", "data.split", "[0.7, 0.15, 0.15]", "",
       "split testsize trainsize valsize validsize validationsize valsplit testsplit trainsplit validationsplit "
       "validationfraction traintestsplit holdout valratio testratio trainratio"},
      {"the number of folds of cross-validation is", "data.folds", "5", "",
       "folds cv kfold kfolds nfolds numfolds nsplits crossvalidation crossval cvfolds"},
      {"the normalisation of features is", "data.normalize", "auto", "",
       "normalize normalise normalization normalisation standardize standardise scaler scaling preprocessing"},
      {"the changes of training samples are", "data.augment", "[flip]", "",
       "augment augmentation augmentations dataaugmentation transforms transform"},
      // How the study runs, and what it keeps.
      {"the seed of everything random is", "run.seed", "1", "--seed 1",
       "seed randomstate randomseed rngseed manualseed globalseed"},
      {"the device that trains is", "run.devices", "[cuda:0]", "--device cuda:0",
       "device devices gpu gpus ngpus numgpus usegpu cuda usecuda accelerator tpu gpuid gpuids"},
      {"the number of training threads is", "run.workers", "4", "--workers 4",
       "workers njobs nworkers numworkers jobs maxworkers parallel parallelism nthread nthreads numthreads threads "
       "concurrency maxconcurrent maxconcurrenttrials maxparalleltrials cpus ncpus numcpus"},
      {"the limit of tensor memory in GiB is", "run.memory_gib", "8", "",
       "memory memorylimit memlimit maxmemory memorygib memorygb rammax"},
      {"the number of trials with kept weights is", "keep.top", "5", "",
       "topk savetopk keepbest savebest nbest keeptop keepcheckpoints"},
      {"the time between checkpoints is", "keep.checkpoint_every", "30s", "",
       "checkpointevery checkpointfreq checkpointfrequency checkpointinterval saveevery savefreq checkpointing"},
      {"the number of selections for a blend of trials is", "keep.ensemble", "20", "",
       "ensemble ensemblesize nensemble ensembling ensembles stacking"},
      {"the name of the study is", "name", "my-study", "",
       "studyname experimentname experiment project projectname runname"},
      {"the amount of output is", "", "", "--quiet", "verbose verbosity silent loglevel progress progressbar"},
      {"the folder of the study is", "", "", "--out studies/first",
       "out output outputdir outputfolder outdir outputpath savedir savepath logdir resultsdir storage workdir "
       "experimentdir storagepath localdir directory folder"}};
  return kAll;
}

}  // namespace lanista::studyfile
