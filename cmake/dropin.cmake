# SPDX-License-Identifier: BSD-2-Clause
#
# librig5_mlx5dv.so: mlx5dv_map_ah_to_qp for programs on rdma-core. Only where its headers are.

find_library(RIG5_MLX5 mlx5)
find_library(RIG5_IBVERBS ibverbs)
if(RIG5_MLX5 AND RIG5_IBVERBS)
	set(map ${CMAKE_SOURCE_DIR}/dropin/dropin.map)
	add_library(rig5_mlx5dv SHARED dropin/map.c)
	set_target_properties(rig5_mlx5dv PROPERTIES LINK_DEPENDS ${map})
	target_compile_options(rig5_mlx5dv PRIVATE -fvisibility=hidden)
	target_link_options(rig5_mlx5dv PRIVATE -Wl,--version-script=${map} -Wl,-z,relro,-z,now)
	target_link_libraries(rig5_mlx5dv PRIVATE ${RIG5_MLX5} ${RIG5_IBVERBS} Threads::Threads
		${CMAKE_DL_LIBS})
	install(TARGETS rig5_mlx5dv LIBRARY NAMELINK_SKIP)
endif()
