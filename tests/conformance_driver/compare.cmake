# Runs PROGRAM, keeps what it prints in LOG, and fails where that is not what EXPECTED holds.
execute_process(COMMAND ${PROGRAM} OUTPUT_FILE ${LOG} RESULT_VARIABLE code)
execute_process(COMMAND diff -u ${EXPECTED} ${LOG} RESULT_VARIABLE differs)
if(NOT code EQUAL 0 OR NOT differs EQUAL 0)
  message(FATAL_ERROR "exit code ${code}; the log differs from ${EXPECTED} as shown above")
endif()
