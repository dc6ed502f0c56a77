#include "lanista/app/cli/app.h"

int main(int argc, char** argv) { return lanista::cli::run(argc, argv); }
