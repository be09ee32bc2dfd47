# SPDX-License-Identifier: BSD-2-Clause
#
# Each fuzz target with the committed inputs; scripts/fuzz.sh uses those that libFuzzer drives.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_fuzz.c)
add_custom_target(fuzzers)
foreach(source IN LISTS fuzz_sources)
	cmake_path(GET source STEM stem)
	string(REGEX REPLACE "_fuzz$" "" name ${stem})
	add_executable(fuzz.${name} ${source} ${CMAKE_CURRENT_LIST_DIR}/replay.c)
	set(targets fuzz.${name})
	set_target_properties(fuzz.${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	if(RIG5_FUZZ)
		add_executable(fuzzer.${name} ${source})
		set_target_properties(fuzzer.${name} PROPERTIES OUTPUT_NAME ${name}
			RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
		target_link_options(fuzzer.${name} PRIVATE -fsanitize=fuzzer)
		list(APPEND targets fuzzer.${name})
		add_dependencies(fuzzers fuzzer.${name})
	endif()
	foreach(target IN LISTS targets)
		rig5_link_layers(${target} test_support ${RIG5_LAYERS})
		target_link_libraries(${target} PRIVATE PkgConfig::CMOCKA)
	endforeach()
	add_test(NAME fuzz.${name}
		COMMAND fuzz.${name} ${CMAKE_CURRENT_LIST_DIR}/corpus/${name}.txt)
	set_test_properties(fuzz.${name} fuzz)
endforeach()
