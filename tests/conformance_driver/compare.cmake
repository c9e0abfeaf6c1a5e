# Runs PROGRAM on the stand-in, with LOOKALIKE in front of it if there is one, keeps what it prints in FOLDER, and
# fails where that is not what EXPECTED holds.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
if(NOT LOOKALIKE)
  set(LOOKALIKE ${STANDIN}/libcuda.so.1)
endif()
file(CREATE_LINK ${LOOKALIKE} ${FOLDER}/libcuda.so.1 SYMBOLIC)
file(CREATE_LINK ${STANDIN}/libcuda.so.1 ${FOLDER}/libgangway-real-cuda.so.1 SYMBOLIC)
set(ENV{LD_LIBRARY_PATH} ${FOLDER})
set(ENV{TSAN_OPTIONS} halt_on_error=1)  # so that a race is a failure
execute_process(COMMAND ${PROGRAM} OUTPUT_FILE ${FOLDER}/log RESULT_VARIABLE code)
execute_process(COMMAND diff -u ${EXPECTED} ${FOLDER}/log RESULT_VARIABLE differs)
if(NOT code EQUAL 0 OR NOT differs EQUAL 0)
  message(FATAL_ERROR "exit code ${code}; the log differs from ${EXPECTED} as shown above")
endif()
